import { test } from 'vitest'
import { fileBackend, memoryBackend } from './backend.ts'
import { checkModel } from './check-model.ts'
import { testTimeout } from './settings.ts'

test(
  'SQLite in memory and SQLite files answer every history like the oracle and like each other',
  () =>
    checkModel([memoryBackend, fileBackend], {
      runs: 15,
      commands: 60,
      file: 'src/model-based/model.test.ts',
    }),
  testTimeout(),
)
