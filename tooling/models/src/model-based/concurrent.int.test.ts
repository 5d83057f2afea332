import { test } from 'vitest'
import { checkConcurrently } from './concurrent.ts'
import { mysqlBackend } from './mysql-backend.ts'
import { testTimeout } from './settings.ts'

test(
  'on MariaDB, clients of two stores get the promised answers, and no write is lost',
  () => checkConcurrently(mysqlBackend, 2, 'src/model-based/concurrent.int.test.ts'),
  testTimeout(),
)
