import { test } from 'vitest'
import { fileBackend, memoryBackend } from './backend.ts'
import { checkModel } from './check-model.ts'
import { testTimeout } from './settings.ts'

test(
  'SQLite in memory and in files answer every history as the oracle does, and as each other',
  () => checkModel([memoryBackend, fileBackend], { runs: 15, commands: 60, file: 'src/model.test.ts' }),
  testTimeout(),
)
