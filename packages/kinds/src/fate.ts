/** The fate of one of many: they do not keep each other. */
export type Fate<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: Error }
