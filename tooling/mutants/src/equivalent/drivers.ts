import type { Equivalents } from '../equivalent.ts'

export const drivers: Equivalents = {}
