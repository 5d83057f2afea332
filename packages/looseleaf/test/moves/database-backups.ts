import { createConnection } from 'mysql2/promise'

/** The tables of a database at one time, as a dump in one transaction has them. */
export type DatabaseBackup = readonly {
  readonly table: string
  readonly statement: string
  readonly rows: readonly (readonly unknown[])[]
}[]

type Rows = readonly (readonly unknown[])[]

export async function backUp(url: string): Promise<DatabaseBackup> {
  const connection = await createConnection({
    uri: url,
    dateStrings: true,
    supportBigNumbers: true,
    bigNumberStrings: true,
    rowsAsArray: true,
  })
  const read = async (statement: string): Promise<Rows> =>
    (await connection.query(statement))[0] as unknown as Rows
  try {
    await connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT')
    const backup: DatabaseBackup[number][] = []
    for (const [name] of await read('SHOW TABLES')) {
      const table = String(name)
      const [created = []] = await read(`SHOW CREATE TABLE \`${table}\``)
      backup.push({ table, statement: String(created[1]), rows: await read(`SELECT * FROM \`${table}\``) })
    }
    return backup
  } finally {
    connection.destroy()
  }
}

/** Restores a backup into an empty database. */
export async function restore(url: string, backup: DatabaseBackup): Promise<void> {
  const connection = await createConnection(url)
  try {
    for (const { table, statement, rows } of backup) {
      await connection.query(statement)
      if (rows.length > 0) await connection.query(`INSERT INTO \`${table}\` VALUES ?`, [rows])
    }
  } finally {
    connection.destroy()
  }
}
