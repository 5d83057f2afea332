/** Attempts before a write gives up. Nearly all of them are lost races, each of which another write of the entity has won. */
export const MAX_TRIES = 64

/** Many writers of one entity: an attempt that has lost often pauses for a random part of this, so that one of them gets through. */
export const backOffMs = (tries: number): number => (tries < 2 ? 0 : Math.min(2 ** tries, 100))
