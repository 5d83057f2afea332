/** What a change returns that leaves its entity as it is. */
export const unchanged: unique symbol = Symbol('unchanged')
