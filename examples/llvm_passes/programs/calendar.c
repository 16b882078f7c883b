/* The Gregorian calendar: leap years, days since an epoch, weekdays, Easter. */
struct date { int year, month, day; };

static int is_leap(int year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

static int days_of(int year, int month) {
    switch (month) {
    case 2: return is_leap(year) ? 29 : 28;
    case 4: case 6: case 9: case 11: return 30;
    default: return 31;
    }
}

int is_valid(const struct date *d) {
    if (d->month < 1 || d->month > 12) return 0;
    return d->day >= 1 && d->day <= days_of(d->year, d->month);
}

int day_of_year(const struct date *d) {
    int day = d->day;
    for (int month = 1; month < d->month; month++) day += days_of(d->year, month);
    return day;
}

long days_since(const struct date *d) {
    long days = 0;
    for (int year = 1970; year < d->year; year++) days += is_leap(year) ? 366 : 365;
    return days + day_of_year(d) - 1;
}

struct date from_days(long days) {
    struct date d = {1970, 1, 1};
    while (days >= (is_leap(d.year) ? 366 : 365)) {
        days -= is_leap(d.year) ? 366 : 365;
        d.year++;
    }
    while (days >= days_of(d.year, d.month)) {
        days -= days_of(d.year, d.month);
        d.month++;
    }
    d.day += (int)days;
    return d;
}

int weekday(const struct date *d) { return (int)((days_since(d) + 4) % 7); }

struct date easter(int year) {
    int a = year % 19, b = year / 100, c = year % 100;
    int d = b / 4, e = b % 4, f = (b + 8) / 25, g = (b - f + 1) / 3;
    int h = (19 * a + b - d - g + 15) % 30, i = c / 4, k = c % 4;
    int l = (32 + 2 * e + 2 * i - h - k) % 7, m = (a + 11 * h + 22 * l) / 451;
    struct date result = {year, (h + l - 7 * m + 114) / 31, (h + l - 7 * m + 114) % 31 + 1};
    return result;
}

int fridays_13(int year) {
    int count = 0;
    for (int month = 1; month <= 12; month++) {
        struct date d = {year, month, 13};
        if (weekday(&d) == 5) count++;
    }
    return count;
}
