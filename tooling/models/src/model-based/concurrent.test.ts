import { test } from 'vitest'
import { fileBackend, memoryBackend } from './backend.ts'
import { checkConcurrently } from './concurrent.ts'
import { testTimeout } from './settings.ts'

test.each([
  [memoryBackend.name, memoryBackend, 12],
  [fileBackend.name, fileBackend, 5],
] as const)(
  'on %s, clients of two stores see what is promised, and nothing is lost',
  (_, backend, runs) => checkConcurrently(backend, runs, 'src/model-based/concurrent.test.ts'),
  testTimeout(),
)
