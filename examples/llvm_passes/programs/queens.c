/* Searches with a way back: queens on a board, a Sudoku, sums of subsets, permutations. */
static int place(int n, int row, int *column) {
    if (row == n) return 1;
    int count = 0;
    for (int c = 0; c < n; c++) {
        int free = 1;
        for (int r = 0; r < row && free; r++) {
            int apart = column[r] - c;
            if (apart == 0 || apart == row - r || apart == r - row) free = 0;
        }
        if (!free) continue;
        column[row] = c;
        count += place(n, row + 1, column);
    }
    return count;
}

int queens(int n) {
    int column[16];
    return n <= 16 ? place(n, 0, column) : -1;
}

static int fits(const int *board, int cell, int digit) {
    int row = cell / 9, column = cell % 9, corner = row / 3 * 27 + column / 3 * 3;
    for (int i = 0; i < 9; i++) {
        if (board[row * 9 + i] == digit) return 0;
        if (board[i * 9 + column] == digit) return 0;
        if (board[corner + i / 3 * 9 + i % 3] == digit) return 0;
    }
    return 1;
}

int sudoku(int *board) {
    for (int cell = 0; cell < 81; cell++) {
        if (board[cell]) continue;
        for (int digit = 1; digit <= 9; digit++) {
            if (!fits(board, cell, digit)) continue;
            board[cell] = digit;
            if (sudoku(board)) return 1;
            board[cell] = 0;
        }
        return 0;
    }
    return 1;
}

int subsets(const int *value, int n, int target) {
    if (target == 0) return 1;
    if (n == 0 || target < 0) return 0;
    return subsets(value + 1, n - 1, target - value[0]) + subsets(value + 1, n - 1, target);
}

int next_permutation(int *a, int n) {
    int i = n - 2, j = n - 1;
    while (i >= 0 && a[i] >= a[i + 1]) i--;
    if (i < 0) return 0;
    while (a[j] <= a[i]) j--;
    int old = a[i];
    a[i] = a[j];
    a[j] = old;
    for (int low = i + 1, high = n - 1; low < high; low++, high--) {
        old = a[low];
        a[low] = a[high];
        a[high] = old;
    }
    return 1;
}
