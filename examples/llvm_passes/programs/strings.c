/* Text: search by Knuth, Morris, Pratt and by Rabin and Karp, numbers to and from text, Roman. */
typedef unsigned int u32;

static int length(const char *text) {
    int n = 0;
    while (text[n]) n++;
    return n;
}

int find_kmp(const char *text, const char *pattern) {
    int border[64], m = length(pattern);
    if (m == 0 || m > 64) return m == 0 ? 0 : -2;
    border[0] = 0;
    for (int i = 1, k = 0; i < m; i++) {
        while (k > 0 && pattern[i] != pattern[k]) k = border[k - 1];
        if (pattern[i] == pattern[k]) k++;
        border[i] = k;
    }
    for (int i = 0, k = 0; text[i]; i++) {
        while (k > 0 && text[i] != pattern[k]) k = border[k - 1];
        if (text[i] == pattern[k]) k++;
        if (k == m) return i - m + 1;
    }
    return -1;
}

int find_hash(const char *text, const char *pattern) {
    int n = length(text), m = length(pattern);
    u32 wanted = 0, have = 0, top = 1;
    if (m > n) return -1;
    for (int i = 0; i < m; i++) {
        wanted = wanted * 257u + (unsigned char)pattern[i];
        have = have * 257u + (unsigned char)text[i];
        if (i > 0) top *= 257u;
    }
    for (int i = 0;; i++) {
        int j = 0;
        if (have == wanted)
            while (j < m && text[i + j] == pattern[j]) j++;
        if (j == m) return i;
        if (i + m >= n) return -1;
        have = (have - (unsigned char)text[i] * top) * 257u + (unsigned char)text[i + m];
    }
}

int to_text(int value, char *out, int base) {
    char digits[33];
    int n = 0, size = 0;
    u32 rest = value < 0 ? 0u - (u32)value : (u32)value;
    do {
        u32 digit = rest % (u32)base;
        digits[n++] = (char)(digit < 10 ? '0' + digit : 'a' + digit - 10);
        rest /= (u32)base;
    } while (rest);
    if (value < 0) out[size++] = '-';
    while (n > 0) out[size++] = digits[--n];
    out[size] = 0;
    return size;
}

int to_number(const char *text, int *value) {
    int sign = 1, digits = 0;
    *value = 0;
    if (*text == '-' || *text == '+') sign = *text++ == '-' ? -1 : 1;
    for (; *text >= '0' && *text <= '9'; text++, digits++) *value = *value * 10 + (*text - '0');
    *value *= sign;
    return digits > 0 && !*text;
}

int roman(int value, char *out) {
    static const int worth[13] = {1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1};
    static const char *const sign[13] = {"M", "CM", "D", "CD", "C", "XC", "L",
                                         "XL", "X", "IX", "V", "IV", "I"};
    int n = 0;
    for (int i = 0; i < 13; i++)
        for (; value >= worth[i]; value -= worth[i])
            for (const char *c = sign[i]; *c; c++) out[n++] = *c;
    out[n] = 0;
    return n;
}
