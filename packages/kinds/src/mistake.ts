declare const mistake: unique symbol

/**
 * A sentence that the compiler shows where a definition or a query is wrong. No value is one, and its only name is a symbol, so that an
 * editor does not suggest it.
 */
export interface Mistake<Sentence> {
  readonly [mistake]: Sentence
}
