/** The property of a bag that names the kind of its entity. */
export const KIND_PROPERTY = '_kind'
