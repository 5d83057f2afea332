import { test } from 'vitest'
import { memoryBackend } from './backend.ts'
import { mysqlBackend } from './mysql-backend.ts'
import { checkModel } from './check-model.ts'
import { testTimeout } from './settings.ts'

test(
  'MariaDB answers every history like the oracle and like SQLite in memory',
  () =>
    checkModel([memoryBackend, mysqlBackend], {
      runs: 4,
      commands: 80,
      file: 'src/model-based/model.int.test.ts',
    }),
  testTimeout(),
)
