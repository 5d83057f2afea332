/** The property of a bag that says of which kind an entity is. */
export const KIND_PROPERTY = '_kind'
