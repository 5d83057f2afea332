/** Number of entities in the store of `large-store.ts`. */
export const LARGE_ENTITIES = 40
/** Size of each of these entities in MiB. */
export const LARGE_ENTITY_MIB = 6

export const LARGE_STORE_MIB: number = LARGE_ENTITIES * LARGE_ENTITY_MIB
