import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, inject, test } from 'vitest'

test('temporary files of tests and of their processes are in the folder of the run', (context) => {
  const folder = inject('temporaryFolder')
  if (folder === undefined) return context.skip('memory has no room for temporary files')
  expect(existsSync(folder)).toBe(true)
  expect([tmpdir(), process.env['TMPDIR']]).toEqual([folder, folder])
})
