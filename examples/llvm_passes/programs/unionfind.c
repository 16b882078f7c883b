/* Graphs by their edges: components, a least spanning tree, bridges in depth-first order. */
#define MOST 128

struct edge { int from, to, length; };

static int parent[MOST], weight[MOST];

static int find(int v) {
    while (parent[v] != v) {
        parent[v] = parent[parent[v]];
        v = parent[v];
    }
    return v;
}

static int join(int a, int b) {
    a = find(a);
    b = find(b);
    if (a == b) return 0;
    if (weight[a] < weight[b]) {
        int old = a;
        a = b;
        b = old;
    }
    parent[b] = a;
    weight[a] += weight[b];
    return 1;
}

static void separate(int n) {
    for (int v = 0; v < n; v++) {
        parent[v] = v;
        weight[v] = 1;
    }
}

int components(int n, const struct edge *edge, int m) {
    separate(n);
    for (int e = 0; e < m; e++)
        if (join(edge[e].from, edge[e].to)) n--;
    return n;
}

static void order_by_length(struct edge *edge, int m) {
    for (int i = 1; i < m; i++) {
        struct edge one = edge[i];
        int j = i;
        while (j > 0 && edge[j - 1].length > one.length) {
            edge[j] = edge[j - 1];
            j--;
        }
        edge[j] = one;
    }
}

long spanning_tree(int n, struct edge *edge, int m) {
    long total = 0;
    order_by_length(edge, m);
    separate(n);
    for (int e = 0; e < m; e++)
        if (join(edge[e].from, edge[e].to)) total += edge[e].length;
    return total;
}

static int clock, seen[MOST], low[MOST];

static int visit(int v, int by, const struct edge *edge, int m) {
    int bridges = 0;
    seen[v] = low[v] = ++clock;
    for (int e = 0; e < m; e++) {
        if (e == by || (edge[e].from != v && edge[e].to != v)) continue;
        int other = edge[e].from == v ? edge[e].to : edge[e].from;
        if (!seen[other]) {
            bridges += visit(other, e, edge, m);
            if (low[other] > seen[v]) bridges++;
        }
        if (low[other] < low[v]) low[v] = low[other];
    }
    return bridges;
}

int bridges(int n, const struct edge *edge, int m) {
    int count = 0;
    clock = 0;
    for (int v = 0; v < n; v++) seen[v] = 0;
    for (int v = 0; v < n; v++)
        if (!seen[v]) count += visit(v, -1, edge, m);
    return count;
}
