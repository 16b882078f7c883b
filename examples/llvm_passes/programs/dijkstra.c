/* Shortest paths with a binary heap of vertices that knows where each of them is. */
#define MOST 128

struct heap { int size, vertex[MOST], place[MOST]; long key[MOST]; };

static void put(struct heap *h, int at, int vertex) {
    h->vertex[at] = vertex;
    h->place[vertex] = at;
}

static void up(struct heap *h, int at) {
    int vertex = h->vertex[at];
    while (at > 0 && h->key[h->vertex[(at - 1) / 2]] > h->key[vertex]) {
        put(h, at, h->vertex[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    put(h, at, vertex);
}

static void down(struct heap *h, int at) {
    int vertex = h->vertex[at];
    for (;;) {
        int child = 2 * at + 1;
        if (child >= h->size) break;
        if (child + 1 < h->size && h->key[h->vertex[child + 1]] < h->key[h->vertex[child]]) child++;
        if (h->key[h->vertex[child]] >= h->key[vertex]) break;
        put(h, at, h->vertex[child]);
        at = child;
    }
    put(h, at, vertex);
}

static int pop(struct heap *h) {
    int top = h->vertex[0];
    h->size--;
    if (h->size > 0) {
        put(h, 0, h->vertex[h->size]);
        down(h, 0);
    }
    h->place[top] = -1;
    return top;
}

/* Edges of vertex v: first[v] to first[v + 1]. */
int shortest(int n, const int *first, const int *target, const int *length, int start, long *out) {
    struct heap h;
    if (n > MOST) return -1;
    h.size = n;
    for (int v = 0; v < n; v++) {
        h.key[v] = v == start ? 0 : 1L << 40;
        put(&h, v, v);
    }
    up(&h, h.place[start]);
    int reached = 0;
    while (h.size > 0) {
        int v = pop(&h);
        if (h.key[v] >= 1L << 40) break;
        reached++;
        for (int e = first[v]; e < first[v + 1]; e++) {
            long through = h.key[v] + length[e];
            if (h.place[target[e]] >= 0 && through < h.key[target[e]]) {
                h.key[target[e]] = through;
                up(&h, h.place[target[e]]);
            }
        }
    }
    for (int v = 0; v < n; v++) out[v] = h.key[v];
    return reached;
}
