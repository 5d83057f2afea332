import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { documentsWithTables, withTables } from './option-tables.ts'
import { root } from './repository.ts'

for (const document of documentsWithTables()) writeFileSync(join(root, document), withTables(document))
