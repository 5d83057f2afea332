import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { found } from './found.ts'

const root = join(import.meta.dirname, '../../../..')

test.each(found.flatMap(({ heldBy }) => heldBy ?? []))('$file still has "$name"', ({ file, name }) => {
  expect(readFileSync(join(root, file), 'utf8')).toContain(name)
})
