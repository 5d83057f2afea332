import { calls } from './calls.ts'
import type { Part } from './part.ts'
import type { PartName } from './part-names.ts'

export const parts: Partial<Record<PartName, Part>> = { calls }
