/** The error of a store that is down. */
export const DOWN = new Error("the store is down");

/** A method that fails at once. */
export const throws = (): never => {
  throw DOWN;
};

/** A method that fails later. */
export const rejects = (): Promise<never> => Promise.reject(DOWN);

/** A function that throws this error. */
export const throwing = (error: unknown) => (): never => {
  throw error;
};
