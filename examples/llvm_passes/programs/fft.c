/* The discrete Fourier transform in place, and a convolution by it. */
struct complex { double re, im; };

static const double PI = 3.14159265358979323846;

static double sine(double x) {
    double term = x, sum = x;
    for (int k = 1; k < 12; k++) {
        term *= -x * x / ((2 * k) * (2 * k + 1));
        sum += term;
    }
    return sum;
}

static double cosine(double x) { return sine(PI / 2 - x); }

static struct complex times(struct complex a, struct complex b) {
    struct complex product = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    return product;
}

static void shuffle(struct complex *a, int n) {
    for (int i = 1, j = 0; i < n; i++) {
        int bit = n >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) {
            struct complex old = a[i];
            a[i] = a[j];
            a[j] = old;
        }
    }
}

void transform(struct complex *a, int n, int inverse) {
    shuffle(a, n);
    for (int half = 1; half < n; half *= 2) {
        double angle = (inverse ? -PI : PI) / half;
        struct complex root = {cosine(angle), sine(angle)};
        for (int start = 0; start < n; start += 2 * half) {
            struct complex w = {1.0, 0.0};
            for (int k = 0; k < half; k++) {
                struct complex u = a[start + k], v = times(a[start + k + half], w);
                a[start + k].re = u.re + v.re;
                a[start + k].im = u.im + v.im;
                a[start + k + half].re = u.re - v.re;
                a[start + k + half].im = u.im - v.im;
                w = times(w, root);
            }
        }
    }
    if (inverse)
        for (int i = 0; i < n; i++) {
            a[i].re /= n;
            a[i].im /= n;
        }
}

void convolve(struct complex *a, struct complex *b, int n) {
    transform(a, n, 0);
    transform(b, n, 0);
    for (int i = 0; i < n; i++) a[i] = times(a[i], b[i]);
    transform(a, n, 1);
}
