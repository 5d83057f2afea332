import { describe } from 'vitest'
import { checkBackend } from '../test/backend-checks.ts'
import { openSqliteBackend } from './backends/sqlite-backend.ts'

describe('two SQLite files', () => {
  checkBackend(() => openSqliteBackend(2))
})

describe('one SQLite file', () => {
  checkBackend(() => openSqliteBackend(1))
})
