/* Records that the processes of every attack write. */

/** An observation that breaks a promise. */
export interface WrongRecord {
  readonly kind: 'wrong'
  readonly message: string
}

/** A failed call. */
export interface ErrorRecord {
  readonly kind: 'error'
  readonly code: string
}
