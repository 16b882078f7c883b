/* Natural numbers of any length in base 10^4: sum, product, factorial, decimal digits. */
#define LIMBS 64
#define BASE 10000

struct big { int used; int limb[LIMBS]; };

static void clear(struct big *a) {
    a->used = 0;
    for (int i = 0; i < LIMBS; i++) a->limb[i] = 0;
}

static void trim(struct big *a) {
    while (a->used > 0 && a->limb[a->used - 1] == 0) a->used--;
}

void from_int(struct big *a, unsigned value) {
    clear(a);
    while (value) {
        a->limb[a->used++] = (int)(value % BASE);
        value /= BASE;
    }
}

void add(const struct big *a, const struct big *b, struct big *sum) {
    int carry = 0, n = a->used > b->used ? a->used : b->used;
    clear(sum);
    for (int i = 0; i < n || carry; i++) {
        int digit = carry;
        if (i < a->used) digit += a->limb[i];
        if (i < b->used) digit += b->limb[i];
        sum->limb[i] = digit % BASE;
        carry = digit / BASE;
        sum->used = i + 1;
    }
}

void multiply(const struct big *a, const struct big *b, struct big *product) {
    clear(product);
    for (int i = 0; i < a->used; i++) {
        int carry = 0;
        for (int j = 0; j < b->used || carry; j++) {
            int digit = product->limb[i + j] + carry;
            if (j < b->used) digit += a->limb[i] * b->limb[j];
            product->limb[i + j] = digit % BASE;
            carry = digit / BASE;
        }
    }
    product->used = a->used + b->used;
    trim(product);
}

int factorial_digits(int n) {
    struct big value, factor, next;
    from_int(&value, 1);
    for (int i = 2; i <= n; i++) {
        from_int(&factor, (unsigned)i);
        multiply(&value, &factor, &next);
        value = next;
    }
    int digits = (value.used - 1) * 4, top = value.limb[value.used - 1];
    for (; top; top /= 10) digits++;
    return digits;
}
