import type { Equivalents } from '../equivalent.ts'

export const indexEngine: Equivalents = {}
