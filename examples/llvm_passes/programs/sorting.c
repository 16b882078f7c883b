/* Six ways to sort, and a check. */
static void swap(int *a, int *b) {
    int old = *a;
    *a = *b;
    *b = old;
}

void bubble(int *a, int n) {
    for (int swapped = 1; swapped;) {
        swapped = 0;
        for (int i = 1; i < n; i++)
            if (a[i - 1] > a[i]) {
                swap(&a[i - 1], &a[i]);
                swapped = 1;
            }
    }
}

void insertion(int *a, int n) {
    for (int i = 1; i < n; i++) {
        int value = a[i], j = i;
        for (; j > 0 && a[j - 1] > value; j--) a[j] = a[j - 1];
        a[j] = value;
    }
}

void shell(int *a, int n) {
    for (int gap = n / 2; gap > 0; gap /= 2)
        for (int i = gap; i < n; i++)
            for (int j = i; j >= gap && a[j - gap] > a[j]; j -= gap) swap(&a[j - gap], &a[j]);
}

static int partition(int *a, int low, int high) {
    int middle = a[(low + high) / 2];
    while (low <= high) {
        while (a[low] < middle) low++;
        while (a[high] > middle) high--;
        if (low <= high) swap(&a[low++], &a[high--]);
    }
    return low;
}

void quick(int *a, int low, int high) {
    while (low < high) {
        int at = partition(a, low, high);
        quick(a, low, at - 1);
        low = at;
    }
}

static void sift(int *a, int at, int n) {
    for (int child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && a[child + 1] > a[child]) child++;
        if (a[at] >= a[child]) return;
        swap(&a[at], &a[child]);
    }
}

void heap(int *a, int n) {
    for (int i = n / 2 - 1; i >= 0; i--) sift(a, i, n);
    for (int i = n - 1; i > 0; i--) {
        swap(&a[0], &a[i]);
        sift(a, 0, i);
    }
}

void radix(unsigned *a, unsigned *spare, int n) {
    for (int shift = 0; shift < 32; shift += 8) {
        int count[257] = {0};
        for (int i = 0; i < n; i++) count[(a[i] >> shift & 255) + 1]++;
        for (int i = 0; i < 256; i++) count[i + 1] += count[i];
        for (int i = 0; i < n; i++) spare[count[a[i] >> shift & 255]++] = a[i];
        for (int i = 0; i < n; i++) a[i] = spare[i];
    }
}

int is_sorted(const int *a, int n) {
    for (int i = 1; i < n; i++)
        if (a[i - 1] > a[i]) return 0;
    return 1;
}
