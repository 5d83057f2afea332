/** Entities of the store that `large-store.ts` fills, and the MiB that each has. */
export const LARGE_ENTITIES = 40
export const LARGE_ENTITY_MIB = 6

export const LARGE_STORE_MIB: number = LARGE_ENTITIES * LARGE_ENTITY_MIB
