/* Pictures of numbers: Mandelbrot's set in floating and in fixed point, a histogram, levels. */
#define SIDE 64

static int escape(double cx, double cy, int limit) {
    double x = 0.0, y = 0.0;
    int n = 0;
    while (n < limit && x * x + y * y <= 4.0) {
        double next = x * x - y * y + cx;
        y = 2.0 * x * y + cy;
        x = next;
        n++;
    }
    return n;
}

static int escape_fixed(int cx, int cy, int limit) {
    int x = 0, y = 0;
    for (int n = 0; n < limit; n++) {
        int xx = (int)((long)x * x >> 12), yy = (int)((long)y * y >> 12);
        if (xx + yy > 4 << 12) return n;
        y = (int)((long)x * y >> 11) + cy;
        x = xx - yy + cx;
    }
    return limit;
}

void draw(unsigned char *picture, int limit, int fixed) {
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++) {
            int n;
            if (fixed) {
                n = escape_fixed((column * 3 - 2 * SIDE) * 64, (row * 2 - SIDE) * 64, limit);
            } else {
                double cx = -2.0 + 3.0 * column / SIDE, cy = -1.0 + 2.0 * row / SIDE;
                n = escape(cx, cy, limit);
            }
            picture[row * SIDE + column] = (unsigned char)(n >= limit ? 0 : n % 255 + 1);
        }
}

int inside(const unsigned char *picture) {
    int count = 0;
    for (int i = 0; i < SIDE * SIDE; i++) count += picture[i] == 0;
    return count;
}

void equalise(unsigned char *picture) {
    int histogram[256] = {0};
    for (int i = 0; i < SIDE * SIDE; i++) histogram[picture[i]]++;
    for (int level = 1; level < 256; level++) histogram[level] += histogram[level - 1];
    for (int i = 0; i < SIDE * SIDE; i++)
        picture[i] = (unsigned char)(255L * histogram[picture[i]] / (SIDE * SIDE));
}

int difference(unsigned char *a, unsigned char *b, int limit) {
    int apart = 0;
    draw(a, limit, 0);
    draw(b, limit, 1);
    for (int i = 0; i < SIDE * SIDE; i++) {
        int d = a[i] - b[i];
        apart += d < 0 ? -d : d;
    }
    return apart;
}
