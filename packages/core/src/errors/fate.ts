/**
 * The fate of one item of a call that writes many: its value, or its error. The error is a `LooseleafError`, unless a function of the
 * program, such as an edit or a schema, threw another one.
 */
export type Fate<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: Error }
