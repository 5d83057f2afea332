import { expect, test } from 'vitest'
import { processName } from './process-name.ts'

test('a process is named by its host and its id', () => {
  expect(processName).toMatch(new RegExp(`^.+:${process.pid}$`))
})
