; half precision is rounded once, at the end of a chain

; == add_tanh_mul_to
; loop [p0, p1] kept 2 vector 1
;   buffer b0 f16
;   buffer b1 f16
;   buffer b2 f32 written
;   access a0 b0 + 0 [p2, 1]
;   access a1 b1 + 0 [0, 1]
;   access a2 b2 + 0 [p3, 1]
;   %0 f32 = load a0
;   %1 f32 = load a1
;   %2 f32 = op Add %0 %1
;   %3 f32 = op Tanh %2
;   %4 f32 = op Mul %3 %0
;   %5 f32 = store a2 %4
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr i64, ptr %1, i64 1
  %8 = load i64, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 0
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr ptr, ptr %0, i64 1
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr ptr, ptr %0, i64 2
  %14 = load ptr, ptr %13, align 8
  %15 = getelementptr i64, ptr %1, i64 2
  %16 = load i64, ptr %15, align 8
  %17 = getelementptr i64, ptr %1, i64 3
  %18 = load i64, ptr %17, align 8
  %19 = add i64 %8, 4095
  %20 = lshr i64 %19, 12
  %21 = urem i64 %2, %20
  %22 = udiv i64 %2, %20
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %184, %tail.end ]
  %23 = phi i64 [ %22, %work ], [ %183, %tail.end ]
  %24 = phi i64 [ %21, %work ], [ %181, %tail.end ]
  %25 = icmp slt i64 %task1, %3
  br i1 %25, label %task, label %task.end

task:                                             ; preds = %task.head
  %26 = mul i64 %23, %16
  %27 = getelementptr i16, ptr %10, i64 %26
  %28 = mul i64 %23, %18
  %29 = getelementptr float, ptr %14, i64 %28
  %30 = mul i64 %24, 4096
  %31 = add i64 %30, 4096
  %32 = call i64 @llvm.smin.i64(i64 %31, i64 %8)
  %33 = sub i64 %32, %30
  %34 = and i64 %33, -16
  %35 = add i64 %30, %34
  br label %vector.head

vector.head:                                      ; preds = %vector, %task
  %vector2 = phi i64 [ %30, %task ], [ %128, %vector ]
  %36 = icmp slt i64 %vector2, %35
  br i1 %36, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %37 = mul i64 %vector2, 1
  %38 = getelementptr i16, ptr %27, i64 %37
  %39 = load <8 x i16>, ptr %38, align 2
  %40 = bitcast <8 x i16> %39 to <8 x half>
  %41 = fpext <8 x half> %40 to <8 x float>
  %42 = mul i64 %vector2, 1
  %43 = getelementptr i16, ptr %27, i64 %42
  %44 = getelementptr i16, ptr %43, i64 8
  %45 = load <8 x i16>, ptr %44, align 2
  %46 = bitcast <8 x i16> %45 to <8 x half>
  %47 = fpext <8 x half> %46 to <8 x float>
  %48 = mul i64 %vector2, 1
  %49 = getelementptr i16, ptr %12, i64 %48
  %50 = load <8 x i16>, ptr %49, align 2
  %51 = bitcast <8 x i16> %50 to <8 x half>
  %52 = fpext <8 x half> %51 to <8 x float>
  %53 = mul i64 %vector2, 1
  %54 = getelementptr i16, ptr %12, i64 %53
  %55 = getelementptr i16, ptr %54, i64 8
  %56 = load <8 x i16>, ptr %55, align 2
  %57 = bitcast <8 x i16> %56 to <8 x half>
  %58 = fpext <8 x half> %57 to <8 x float>
  %59 = fadd <8 x float> %41, %52
  %60 = fadd <8 x float> %47, %58
  %61 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %59)
  %62 = fcmp ogt <8 x float> %61, <float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01>
  %63 = select <8 x i1> %62, <8 x float> <float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01>, <8 x float> %61
  %64 = fadd <8 x float> %63, %63
  %65 = fmul <8 x float> %64, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %66 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %65)
  %67 = call <8 x float> @llvm.fma.v8f32(<8 x float> %66, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %64)
  %68 = fmul <8 x float> %66, <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>
  %69 = fadd <8 x float> %67, %68
  %70 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %69, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %71 = call <8 x float> @llvm.fma.v8f32(<8 x float> %70, <8 x float> %69, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %72 = call <8 x float> @llvm.fma.v8f32(<8 x float> %71, <8 x float> %69, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %73 = call <8 x float> @llvm.fma.v8f32(<8 x float> %72, <8 x float> %69, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %74 = fmul <8 x float> %69, %69
  %75 = call <8 x float> @llvm.fma.v8f32(<8 x float> %74, <8 x float> %73, <8 x float> %68)
  %76 = fadd <8 x float> %67, %75
  %77 = bitcast <8 x float> %64 to <8 x i32>
  %78 = fptosi <8 x float> %66 to <8 x i32>
  %79 = add <8 x i32> %78, <i32 126, i32 126, i32 126, i32 126, i32 126, i32 126, i32 126, i32 126>
  %80 = shl <8 x i32> %79, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %81 = bitcast <8 x i32> %80 to <8 x float>
  %82 = fsub <8 x float> %81, <float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01>
  %83 = call <8 x float> @llvm.fma.v8f32(<8 x float> %81, <8 x float> %76, <8 x float> %82)
  %84 = fadd <8 x float> %83, <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>
  %85 = fdiv <8 x float> %83, %84
  %86 = fneg <8 x float> %83
  %87 = call <8 x float> @llvm.fma.v8f32(<8 x float> %86, <8 x float> %85, <8 x float> %83)
  %88 = fcmp olt <8 x float> %83, <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>
  %89 = select <8 x i1> %88, <8 x float> %87, <8 x float> %85
  %90 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %89, <8 x float> %59)
  %91 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %60)
  %92 = fcmp ogt <8 x float> %91, <float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01>
  %93 = select <8 x i1> %92, <8 x float> <float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01>, <8 x float> %91
  %94 = fadd <8 x float> %93, %93
  %95 = fmul <8 x float> %94, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %96 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %95)
  %97 = call <8 x float> @llvm.fma.v8f32(<8 x float> %96, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %94)
  %98 = fmul <8 x float> %96, <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>
  %99 = fadd <8 x float> %97, %98
  %100 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %99, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %101 = call <8 x float> @llvm.fma.v8f32(<8 x float> %100, <8 x float> %99, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %102 = call <8 x float> @llvm.fma.v8f32(<8 x float> %101, <8 x float> %99, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %103 = call <8 x float> @llvm.fma.v8f32(<8 x float> %102, <8 x float> %99, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %104 = fmul <8 x float> %99, %99
  %105 = call <8 x float> @llvm.fma.v8f32(<8 x float> %104, <8 x float> %103, <8 x float> %98)
  %106 = fadd <8 x float> %97, %105
  %107 = bitcast <8 x float> %94 to <8 x i32>
  %108 = fptosi <8 x float> %96 to <8 x i32>
  %109 = add <8 x i32> %108, <i32 126, i32 126, i32 126, i32 126, i32 126, i32 126, i32 126, i32 126>
  %110 = shl <8 x i32> %109, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %111 = bitcast <8 x i32> %110 to <8 x float>
  %112 = fsub <8 x float> %111, <float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01>
  %113 = call <8 x float> @llvm.fma.v8f32(<8 x float> %111, <8 x float> %106, <8 x float> %112)
  %114 = fadd <8 x float> %113, <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>
  %115 = fdiv <8 x float> %113, %114
  %116 = fneg <8 x float> %113
  %117 = call <8 x float> @llvm.fma.v8f32(<8 x float> %116, <8 x float> %115, <8 x float> %113)
  %118 = fcmp olt <8 x float> %113, <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>
  %119 = select <8 x i1> %118, <8 x float> %117, <8 x float> %115
  %120 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %119, <8 x float> %60)
  %121 = fmul <8 x float> %90, %41
  %122 = fmul <8 x float> %120, %47
  %123 = mul i64 %vector2, 1
  %124 = getelementptr float, ptr %29, i64 %123
  store <8 x float> %121, ptr %124, align 4
  %125 = mul i64 %vector2, 1
  %126 = getelementptr float, ptr %29, i64 %125
  %127 = getelementptr float, ptr %126, i64 8
  store <8 x float> %122, ptr %127, align 4
  %128 = add i64 %vector2, 16
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail3 = phi i64 [ %35, %vector.end ], [ %178, %tail ]
  %129 = icmp slt i64 %tail3, %32
  br i1 %129, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %130 = sub i64 %32, %tail3
  %131 = call i64 @llvm.umin.i64(i64 %130, i64 8)
  %132 = trunc i64 %131 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %132, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %133 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %134 = mul i64 %tail3, 1
  %135 = getelementptr i16, ptr %27, i64 %134
  %136 = call <8 x i16> @llvm.masked.load.v8i16.p0(ptr %135, i32 2, <8 x i1> %133, <8 x i16> zeroinitializer)
  %137 = bitcast <8 x i16> %136 to <8 x half>
  %138 = fpext <8 x half> %137 to <8 x float>
  %139 = mul i64 %tail3, 1
  %140 = getelementptr i16, ptr %12, i64 %139
  %141 = call <8 x i16> @llvm.masked.load.v8i16.p0(ptr %140, i32 2, <8 x i1> %133, <8 x i16> zeroinitializer)
  %142 = bitcast <8 x i16> %141 to <8 x half>
  %143 = fpext <8 x half> %142 to <8 x float>
  %144 = fadd <8 x float> %138, %143
  %145 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %144)
  %146 = fcmp ogt <8 x float> %145, <float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01>
  %147 = select <8 x i1> %146, <8 x float> <float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01, float 1.000000e+01>, <8 x float> %145
  %148 = fadd <8 x float> %147, %147
  %149 = fmul <8 x float> %148, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %150 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %149)
  %151 = call <8 x float> @llvm.fma.v8f32(<8 x float> %150, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %148)
  %152 = fmul <8 x float> %150, <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>
  %153 = fadd <8 x float> %151, %152
  %154 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %153, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %155 = call <8 x float> @llvm.fma.v8f32(<8 x float> %154, <8 x float> %153, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %156 = call <8 x float> @llvm.fma.v8f32(<8 x float> %155, <8 x float> %153, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %157 = call <8 x float> @llvm.fma.v8f32(<8 x float> %156, <8 x float> %153, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %158 = fmul <8 x float> %153, %153
  %159 = call <8 x float> @llvm.fma.v8f32(<8 x float> %158, <8 x float> %157, <8 x float> %152)
  %160 = fadd <8 x float> %151, %159
  %161 = bitcast <8 x float> %148 to <8 x i32>
  %162 = fptosi <8 x float> %150 to <8 x i32>
  %163 = add <8 x i32> %162, <i32 126, i32 126, i32 126, i32 126, i32 126, i32 126, i32 126, i32 126>
  %164 = shl <8 x i32> %163, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %165 = bitcast <8 x i32> %164 to <8 x float>
  %166 = fsub <8 x float> %165, <float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01>
  %167 = call <8 x float> @llvm.fma.v8f32(<8 x float> %165, <8 x float> %160, <8 x float> %166)
  %168 = fadd <8 x float> %167, <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>
  %169 = fdiv <8 x float> %167, %168
  %170 = fneg <8 x float> %167
  %171 = call <8 x float> @llvm.fma.v8f32(<8 x float> %170, <8 x float> %169, <8 x float> %167)
  %172 = fcmp olt <8 x float> %167, <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>
  %173 = select <8 x i1> %172, <8 x float> %171, <8 x float> %169
  %174 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %173, <8 x float> %144)
  %175 = fmul <8 x float> %174, %138
  %176 = mul i64 %tail3, 1
  %177 = getelementptr float, ptr %29, i64 %176
  call void @llvm.masked.store.v8f32.p0(<8 x float> %175, ptr %177, i32 4, <8 x i1> %133)
  %178 = add i64 %tail3, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %179 = add i64 %24, 1
  %180 = icmp eq i64 %179, %20
  %181 = select i1 %180, i64 0, i64 %179
  %182 = zext i1 %180 to i64
  %183 = add i64 %23, %182
  %184 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare <8 x float> @llvm.fabs.v8f32(<8 x float>) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare <8 x float> @llvm.roundeven.v8f32(<8 x float>) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare <8 x float> @llvm.copysign.v8f32(<8 x float>, <8 x float>) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x i16> @llvm.masked.load.v8i16.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x i16>) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }
