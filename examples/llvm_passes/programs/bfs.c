/* Breadth-first search on a grid with walls: distances, the shortest path, reachable cells. */
#define WIDTH 32
#define HEIGHT 24
#define CELLS (WIDTH * HEIGHT)

static const int STEP_X[4] = {1, 0, -1, 0};
static const int STEP_Y[4] = {0, 1, 0, -1};

static int inside(int x, int y) { return x >= 0 && y >= 0 && x < WIDTH && y < HEIGHT; }
static int at(int x, int y) { return y * WIDTH + x; }

int distances(const char *wall, int start, int *distance) {
    int queue[CELLS], head = 0, tail = 0;
    for (int i = 0; i < CELLS; i++) distance[i] = -1;
    distance[start] = 0;
    queue[tail++] = start;
    while (head < tail) {
        int cell = queue[head++], x = cell % WIDTH, y = cell / WIDTH;
        for (int d = 0; d < 4; d++) {
            int nx = x + STEP_X[d], ny = y + STEP_Y[d];
            if (!inside(nx, ny)) continue;
            int next = at(nx, ny);
            if (wall[next] || distance[next] >= 0) continue;
            distance[next] = distance[cell] + 1;
            queue[tail++] = next;
        }
    }
    return tail;
}

int path(const char *wall, int from, int to, int *cells) {
    int distance[CELLS];
    distances(wall, to, distance);
    if (distance[from] < 0) return 0;
    int length = 0;
    cells[length++] = from;
    while (from != to) {
        int x = from % WIDTH, y = from / WIDTH;
        for (int d = 0; d < 4; d++) {
            int nx = x + STEP_X[d], ny = y + STEP_Y[d];
            if (inside(nx, ny) && distance[at(nx, ny)] == distance[from] - 1) {
                from = at(nx, ny);
                break;
            }
        }
        cells[length++] = from;
    }
    return length;
}

int farthest(const char *wall, int start) {
    int distance[CELLS], best = start;
    distances(wall, start, distance);
    for (int i = 0; i < CELLS; i++)
        if (distance[i] > distance[best]) best = i;
    return best;
}
