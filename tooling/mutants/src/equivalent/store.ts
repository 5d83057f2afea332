import type { Equivalents } from '../equivalent.ts'

export const store: Equivalents = {}
