import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { longest } from './longest-first.ts'

test('every file of the list of the longest test files exists', () => {
  const root = new URL('../../../', import.meta.url)
  expect(longest.filter((file) => !existsSync(fileURLToPath(new URL(file, root))))).toEqual([])
})
