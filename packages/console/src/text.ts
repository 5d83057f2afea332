/** `one row`, `1,200 rows`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return count === 1 ? `one ${one}` : `${count.toLocaleString('en-US')} ${many}`
}

/** `0.42 ms`, `12.3 ms`, `1,200 ms`. */
export function milliseconds(value: number): string {
  const digits = value < 1 ? 2 : value < 100 ? 1 : 0
  return `${value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })} ms`
}
