/* Dynamic programming: knapsack with its items, edit distance, common subsequence, coins. */
#define MOST 64
#define ROOM 256

static int larger(int a, int b) { return a > b ? a : b; }
static int smaller(int a, int b) { return a < b ? a : b; }

int knapsack(int n, const int *weight, const int *worth, int room, int *chosen) {
    static int best[MOST + 1][ROOM + 1];
    if (n > MOST || room > ROOM) return -1;
    for (int w = 0; w <= room; w++) best[0][w] = 0;
    for (int i = 1; i <= n; i++)
        for (int w = 0; w <= room; w++) {
            best[i][w] = best[i - 1][w];
            if (weight[i - 1] <= w)
                best[i][w] = larger(best[i][w], best[i - 1][w - weight[i - 1]] + worth[i - 1]);
        }
    for (int i = n, w = room; i > 0; i--) {
        chosen[i - 1] = best[i][w] != best[i - 1][w];
        if (chosen[i - 1]) w -= weight[i - 1];
    }
    return best[n][room];
}

int edit_distance(const char *a, int n, const char *b, int m) {
    int row[MOST + 1];
    if (m > MOST) return -1;
    for (int j = 0; j <= m; j++) row[j] = j;
    for (int i = 1; i <= n; i++) {
        int corner = row[0];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            int replaced = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            row[j] = smaller(replaced, smaller(row[j], row[j - 1]) + 1);
        }
    }
    return row[m];
}

int common(const char *a, int n, const char *b, int m) {
    int row[2][MOST + 1];
    if (m > MOST) return -1;
    for (int j = 0; j <= m; j++) row[0][j] = row[1][j] = 0;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++)
            row[i % 2][j] = a[i - 1] == b[j - 1] ? row[(i + 1) % 2][j - 1] + 1
                                                 : larger(row[(i + 1) % 2][j], row[i % 2][j - 1]);
    return row[n % 2][m];
}

int coins(const int *value, int n, int amount) {
    int fewest[ROOM + 1];
    if (amount > ROOM) return -1;
    fewest[0] = 0;
    for (int a = 1; a <= amount; a++) {
        fewest[a] = ROOM;
        for (int i = 0; i < n; i++)
            if (value[i] <= a) fewest[a] = smaller(fewest[a], fewest[a - value[i]] + 1);
    }
    return fewest[amount] < ROOM ? fewest[amount] : -1;
}
