/*
 * What processes of several runs write down.
 */

/** Something that must not be. */
export interface WrongRecord {
  readonly kind: 'wrong'
  readonly message: string
}

/** A call has failed. */
export interface ErrorRecord {
  readonly kind: 'error'
  readonly code: string
}
