import type { Equivalents } from '../equivalent.ts'

export const cleaner: Equivalents = {}
