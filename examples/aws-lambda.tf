# The function of index.ts with its table and its URL. Bundle it to dist/index.cjs, then run terraform apply.
variable "secret" { sensitive = true }

data "archive_file" "bundle" {
  type        = "zip"
  source_file = "dist/index.cjs"
  output_path = "function.zip"
}

resource "aws_dynamodb_table" "deliveries" {
  name         = "gateway_deliveries"
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "id"
  attribute {
    name = "id"
    type = "S"
  }
  ttl {
    attribute_name = "expiresAt"
    enabled        = true
  }
}

resource "aws_iam_role" "webhooks" {
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "lambda.amazonaws.com" } }]
  })
}

resource "aws_iam_role_policy" "deliveries" {
  role = aws_iam_role.webhooks.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Effect   = "Allow"
        Action   = ["dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:GetItem"]
        Resource = aws_dynamodb_table.deliveries.arn
      },
      {
        Effect   = "Allow"
        Action   = ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"]
        Resource = "*"
      },
    ]
  })
}

resource "aws_lambda_function" "webhooks" {
  function_name    = "gateway-webhooks"
  role             = aws_iam_role.webhooks.arn
  filename         = data.archive_file.bundle.output_path
  source_code_hash = data.archive_file.bundle.output_base64sha256
  handler          = "index.handler"
  runtime          = "nodejs22.x"
  timeout          = 25
  environment {
    variables = { GATEWAY_WEBHOOK_SECRET = var.secret }
  }
}

resource "aws_lambda_function_url" "webhooks" {
  function_name      = aws_lambda_function.webhooks.function_name
  authorization_type = "NONE"
}

resource "aws_lambda_permission" "url" {
  function_name          = aws_lambda_function.webhooks.function_name
  action                 = "lambda:InvokeFunctionUrl"
  principal              = "*"
  function_url_auth_type = "NONE"
}

resource "aws_lambda_permission" "invoke" {
  function_name            = aws_lambda_function.webhooks.function_name
  action                   = "lambda:InvokeFunction"
  principal                = "*"
  invoked_via_function_url = true
}

output "url" { value = aws_lambda_function_url.webhooks.function_url }
