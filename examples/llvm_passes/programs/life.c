/* The game of life on a torus: generations, population, and when the world repeats itself. */
#define SIDE 32

struct world { unsigned char cell[SIDE][SIDE]; };

static int wrap(int i) { return (i + SIDE) % SIDE; }

static int neighbours(const struct world *w, int row, int column) {
    int count = 0;
    for (int dr = -1; dr <= 1; dr++)
        for (int dc = -1; dc <= 1; dc++) {
            if (dr == 0 && dc == 0) continue;
            count += w->cell[wrap(row + dr)][wrap(column + dc)];
        }
    return count;
}

void generation(const struct world *now, struct world *next) {
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++) {
            int count = neighbours(now, row, column);
            if (now->cell[row][column]) next->cell[row][column] = count == 2 || count == 3;
            else next->cell[row][column] = count == 3;
        }
}

int population(const struct world *w) {
    int count = 0;
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++) count += w->cell[row][column];
    return count;
}

static int equal(const struct world *a, const struct world *b) {
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++)
            if (a->cell[row][column] != b->cell[row][column]) return 0;
    return 1;
}

static void sow(struct world *w, unsigned seed) {
    for (int i = 0; i < SIDE * SIDE; i++) {
        seed = seed * 1103515245u + 12345u;
        w->cell[i / SIDE][i % SIDE] = seed >> 16 & 1;
    }
}

int steps_until_still(unsigned seed, int limit) {
    struct world a, b;
    sow(&a, seed);
    for (int step = 0; step < limit; step++) {
        generation(&a, &b);
        if (equal(&a, &b)) return step;
        a = b;
    }
    return -1;
}
