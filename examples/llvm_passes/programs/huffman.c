/* Huffman's code: the tree from frequencies, lengths of codes, size of the coded text. */
#define SYMBOLS 64

struct node { int weight, left, right, parent; };

static int lightest(struct node *node, int n, int except) {
    int best = -1;
    for (int i = 0; i < n; i++) {
        if (i == except || node[i].parent >= 0 || node[i].weight == 0) continue;
        if (best < 0 || node[i].weight < node[best].weight) best = i;
    }
    return best;
}

static int build(const int *frequency, struct node *node) {
    int n = SYMBOLS;
    for (int i = 0; i < SYMBOLS; i++) {
        node[i].weight = frequency[i];
        node[i].left = node[i].right = node[i].parent = -1;
    }
    for (;;) {
        int a = lightest(node, n, -1);
        int b = lightest(node, n, a);
        if (b < 0) return a;
        node[n].weight = node[a].weight + node[b].weight;
        node[n].left = a;
        node[n].right = b;
        node[n].parent = -1;
        node[a].parent = node[b].parent = n;
        n++;
    }
}

static int depth(const struct node *node, int at) {
    int d = 0;
    while (node[at].parent >= 0) {
        at = node[at].parent;
        d++;
    }
    return d;
}

int code_lengths(const int *frequency, int *length) {
    struct node node[2 * SYMBOLS];
    int root = build(frequency, node), used = 0;
    for (int i = 0; i < SYMBOLS; i++) {
        length[i] = frequency[i] && root >= 0 ? depth(node, i) : 0;
        used += frequency[i] > 0;
    }
    return used;
}

long coded_bits(const unsigned char *text, int n) {
    int frequency[SYMBOLS] = {0}, length[SYMBOLS];
    for (int i = 0; i < n; i++) frequency[text[i] % SYMBOLS]++;
    code_lengths(frequency, length);
    long bits = 0;
    for (int i = 0; i < SYMBOLS; i++) bits += (long)frequency[i] * length[i];
    return bits;
}
