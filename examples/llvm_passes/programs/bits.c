/* Tricks with bits: counts, reversals, Gray codes, powers of two, Morton order. */
typedef unsigned int u32;
typedef unsigned long u64;

int count_bits(u32 x) {
    int n = 0;
    while (x) {
        x &= x - 1;
        n++;
    }
    return n;
}

int count_parallel(u32 x) {
    x = x - (x >> 1 & 0x55555555u);
    x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0fu;
    return (int)(x * 0x01010101u >> 24);
}

u32 reverse(u32 x) {
    u32 result = 0;
    for (int i = 0; i < 32; i++) {
        result = result << 1 | (x & 1);
        x >>= 1;
    }
    return result;
}

static u64 spread(u32 x) {
    u64 wide = x;
    wide = (wide | wide << 16) & 0x0000ffff0000fffful;
    wide = (wide | wide << 8) & 0x00ff00ff00ff00fful;
    wide = (wide | wide << 4) & 0x0f0f0f0f0f0f0f0ful;
    wide = (wide | wide << 2) & 0x3333333333333333ul;
    return (wide | wide << 1) & 0x5555555555555555ul;
}

u64 morton(u32 x, u32 y) { return spread(x) | spread(y) << 1; }

u32 gray(u32 x) { return x ^ x >> 1; }

u32 from_gray(u32 x) {
    for (int shift = 16; shift > 0; shift /= 2) x ^= x >> shift;
    return x;
}

static int is_power(u32 x) { return x != 0 && (x & (x - 1)) == 0; }

u32 next_power(u32 x) {
    if (is_power(x)) return x;
    u32 power = 1;
    while (power < x && power) power <<= 1;
    return power;
}

int check(u32 seed) {
    int errors = 0;
    for (int i = 0; i < 100; i++) {
        seed = seed * 1664525u + 1013904223u;
        if (count_bits(seed) != count_parallel(seed)) errors++;
        if (reverse(reverse(seed)) != seed) errors++;
        if (from_gray(gray(seed)) != seed) errors++;
    }
    return errors;
}
