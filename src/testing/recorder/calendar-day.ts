const LAST_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Whether there is such a day in some year; national numbers leave the century to be guessed. */
export function isCalendarDay(month: number, day: number): boolean {
  return day >= 1 && day <= (LAST_DAYS[month - 1] ?? 0);
}
