import { defineKind } from 'looseleaf'
import { z } from 'zod'

export const Setting = defineKind('setting', {
  schema: z.object({ name: z.string(), value: z.string() }),
})
