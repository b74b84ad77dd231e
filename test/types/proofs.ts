// What the type tests prove with: a file beside them, because the packaging test copies them to a partner's project.

/** Whether two types are the same, and not only assignable to each other. */
export type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

export type IsAny<T> = 0 extends 1 & T ? true : false;

/** Of the members of a type, whether one is `any`. */
export type Members<T> = { [K in keyof T]-?: IsAny<T[K]> }[keyof T];

export function proves<_T extends true>(): void {
  // The type argument is the assertion.
}

export function isNotAny<T>(_value: T, ..._proof: IsAny<T> extends true ? [never] : []): void {
  // The same: for `any` the second argument would be missing.
}
