/* Numbers: sieve, factors, greatest common divisor, powers modulo m, Miller and Rabin's test. */
typedef unsigned long u64;

int sieve(unsigned char *composite, int n) {
    int count = 0;
    for (int i = 0; i < n; i++) composite[i] = i < 2;
    for (int i = 2; i < n; i++) {
        if (composite[i]) continue;
        count++;
        for (long j = (long)i * i; j < n; j += i) composite[j] = 1;
    }
    return count;
}

u64 gcd(u64 a, u64 b) {
    while (b) {
        u64 rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static u64 power(u64 base, u64 exponent, u64 modulus) {
    u64 result = 1;
    base %= modulus;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1) result = result * base % modulus;
        base = base * base % modulus;
    }
    return result;
}

static int is_witness(u64 a, u64 n, u64 odd, int twos) {
    u64 x = power(a, odd, n);
    if (x == 1 || x == n - 1) return 0;
    for (int i = 1; i < twos; i++) {
        x = x * x % n;
        if (x == n - 1) return 0;
    }
    return 1;
}

int is_prime(unsigned n) {
    static const unsigned bases[3] = {2, 7, 61};
    if (n < 2) return 0;
    u64 odd = n - 1;
    int twos = 0;
    while (odd % 2 == 0) {
        odd /= 2;
        twos++;
    }
    for (int i = 0; i < 3; i++) {
        if (n == bases[i]) return 1;
        if (n % bases[i] == 0) return 0;
        if (is_witness(bases[i], n, odd, twos)) return 0;
    }
    return 1;
}

int factors(unsigned n, unsigned *out) {
    int count = 0;
    for (unsigned d = 2; (u64)d * d <= n; d += d == 2 ? 1 : 2)
        while (n % d == 0) {
            out[count++] = d;
            n /= d;
        }
    if (n > 1) out[count++] = n;
    return count;
}

u64 totient(unsigned n) {
    unsigned out[32];
    int count = factors(n, out);
    u64 result = n;
    for (int i = 0; i < count; i++)
        if (i == 0 || out[i] != out[i - 1]) result = result / out[i] * (out[i] - 1);
    return result;
}
