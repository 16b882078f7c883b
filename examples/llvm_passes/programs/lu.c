/* Linear algebra: product, transpose, LU with pivots, determinant, a system of equations. */
#define N 16

typedef double matrix[N][N];

static double magnitude(double x) { return x < 0 ? -x : x; }

void product(int n, matrix a, matrix b, matrix c) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0.0;
            for (int k = 0; k < n; k++) sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

void transpose(int n, matrix a) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            double old = a[i][j];
            a[i][j] = a[j][i];
            a[j][i] = old;
        }
}

static int pivot(int n, matrix a, int column) {
    int best = column;
    for (int row = column + 1; row < n; row++)
        if (magnitude(a[row][column]) > magnitude(a[best][column])) best = row;
    return best;
}

int decompose(int n, matrix a, int *order) {
    int sign = 1;
    for (int i = 0; i < n; i++) order[i] = i;
    for (int k = 0; k < n; k++) {
        int best = pivot(n, a, k);
        if (magnitude(a[best][k]) < 1e-12) return 0;
        if (best != k) {
            for (int j = 0; j < n; j++) {
                double old = a[k][j];
                a[k][j] = a[best][j];
                a[best][j] = old;
            }
            int old = order[k];
            order[k] = order[best];
            order[best] = old;
            sign = -sign;
        }
        for (int i = k + 1; i < n; i++) {
            a[i][k] /= a[k][k];
            for (int j = k + 1; j < n; j++) a[i][j] -= a[i][k] * a[k][j];
        }
    }
    return sign;
}

double determinant(int n, matrix a) {
    int order[N], sign = decompose(n, a, order);
    double result = sign;
    for (int i = 0; i < n && sign; i++) result *= a[i][i];
    return result;
}

int solve(int n, matrix a, const double *right, double *x) {
    int order[N];
    if (!decompose(n, a, order)) return 0;
    for (int i = 0; i < n; i++) {
        x[i] = right[order[i]];
        for (int j = 0; j < i; j++) x[i] -= a[i][j] * x[j];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++) x[i] -= a[i][j] * x[j];
        x[i] /= a[i][i];
    }
    return 1;
}
