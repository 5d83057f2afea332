/** Attempts before a write gives up. Nearly every failed attempt has lost a race to another write of the entity. */
export const MAX_TRIES = 64

/**
 * Upper bound, in milliseconds, of the random pause before the next attempt. With many writers of one entity, random pauses let
 * one of them get through.
 */
export const backOffMs = (tries: number): number => (tries < 2 ? 0 : Math.min(2 ** tries, 100))
