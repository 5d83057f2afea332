/** The fate of one item of a call that writes many: its value, or its error. */
export type Fate<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: Error }
